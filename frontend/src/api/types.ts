// The Hub's nouns, by their names in Go. They are made from its OpenAPI document: `make generate`.
import type { components } from './schema.gen';

type Schemas = components['schemas'];

export type Base = Schemas['Base'];
export type Build = Schemas['Build'];
export type BuildStep = Schemas['BuildStep'];
export type Environment = Schemas['Environment'];
export type EnvironmentChange = Schemas['EnvironmentChange'];
export type EnvironmentVersion = Schemas['EnvironmentVersion'];
export type Failure = Schemas['Failure'];
export type Figures = Schemas['Figures'];
export type Finding = Schemas['Finding'];
export type Forward = Schemas['Forward'];
export type FoundSeed = Schemas['FoundSeed'];
export type LogPart = Schemas['LogPart'];
export type Machine = Schemas['Machine'];
export type NetworkPolicy = Recipe['network'];
export type NewSession = Schemas['NewSession'];
export type Port = Schemas['Port'];
export type Prompt = Schemas['Prompt'] & { suggested_by?: Face };
export type PromptState = Prompt['state'];
export type Recipe = Schemas['Recipe'];
export type Runner = Schemas['Runner'] & { revoked?: string; last_used?: string; address?: string };
export type Seed = Schemas['Seed'];
export type SeedRequest = Schemas['SeedRequest'];
export type Session = Schemas['Session'] & {
  access?: 'participant' | 'creator';
  shared?: Shared;
  by?: Face;
};
export type SessionChange = Schemas['SessionChange'];
export type SignIn = Schemas['SignInItem'];
export type Source = Schemas['Source'];
export type Step = Schemas['Step'];
export type StorageItem = Schemas['StorageItem'];
export type Variable = Schemas['Variable'];

export type InputReport = Schemas['InputReport'];
export type TerminalDown = Omit<Schemas['TerminalDown'], 'state'> & { state?: TerminalState };
export type TerminalState = Schemas['TerminalState'] & { watchers?: Face[] | null };
export type TerminalUp = Schemas['TerminalUp'];

export type SessionVerb = 'sleep' | 'wake' | 'archive' | 'unarchive' | 'retry' | 'cancel' | 'stop' | 'new-conversation';

export interface Face {
  id: string;
  login: string;
  name: string;
}

export interface Shared {
  everyone: boolean;
  people?: Face[] | null;
  link: boolean;
}

export type Role = 'member' | 'admin';

export interface Person extends Face {
  role: Role;
  github?: number;
  created: string;
  seen?: string;
  removed?: string;
}

export interface HubInfo extends Omit<Schemas['HubInfo'], 'mode'> {
  mode: string;
  github?: { url: string };
  setup?: boolean;
}

export interface Suggestion {
  id: string;
  session: string;
  author: Face;
  text: string;
  state: 'open' | 'accepted' | 'declined' | 'withdrawn';
  prompt?: string;
  why?: string;
  created: string;
  updated: string;
}

export type TokenScope = 'sessions:read' | 'sessions:drive' | 'environments' | 'runners';

export interface APIToken {
  id: string;
  name: string;
  scopes: TokenScope[];
  created: string;
  expires?: string;
  last_used?: string;
  address?: string;
}

export interface Device {
  client: 'runner' | 'cli';
  name: string;
  machine: string;
  address: string;
  again: boolean;
  created: string;
  expires: string;
}

export interface AuditEntry {
  seq: number;
  at: string;
  actor_kind: 'person' | 'runner' | 'system' | 'nobody';
  actor?: string;
  login?: string;
  action: string;
  target?: string;
  address?: string;
  outcome: 'ok' | 'refused';
  detail?: Record<string, string>;
  prev: string;
  hash: string;
}

/** RunnerLink is all that is told of another person's Runner. */
export interface RunnerLink {
  runner: string;
  name: string;
  link: Runner['link'];
}

/** Links are those by their Runner's id. */
export type Links = Record<string, RunnerLink>;
