// The Hub's nouns, by their names in Go. They are made from its OpenAPI document: `make generate`.
import type { components } from './schema.gen';

type Schemas = components['schemas'];

export type Finding = Schemas['Finding'];
export type Failure = Schemas['Failure'];
export type Machine = Schemas['Machine'] & {
  max_awake: number;
  storage: Storage;
  networks: NetworkPolicy[];
};
export type NewSession = Schemas['NewSession'] & { environment?: EnvironmentChoice };
export type Prompt = Schemas['Prompt'];
export type PromptState = Prompt['state'];
export type Runner = Omit<Schemas['Runner'], 'machine'> & { machine: Machine; reclaim: number };
export type Session = Omit<Schemas['Session'], 'observed' | 'desired'> & {
  kind: 'claude' | 'look';
  environment?: EnvironmentRef;
  build?: string;
  forwards: Forward[];
  desired: 'awake' | 'asleep' | 'archived' | 'deleted';
  observed: Observed;
};
export type SessionChange = Schemas['SessionChange'] & { environment?: EnvironmentChoice };
export type SignIn = Schemas['SignInItem'];
export type Source = Schemas['Source'];
export type Step = Schemas['Step'];

export type InputReport = Schemas['InputReport'];
export type TerminalDown = Schemas['TerminalDown'];
export type TerminalState = Schemas['TerminalState'];
export type TerminalUp = Schemas['TerminalUp'];

export type SessionVerb = 'sleep' | 'wake' | 'archive' | 'unarchive' | 'retry' | 'cancel' | 'stop' | 'new-conversation';

// To be taken from the generated types.
export interface EnvironmentChoice {
  id: string;
  version?: number;
}
export interface Forward {
  port: number;
  same: boolean;
}
export interface Port {
  port: number;
  process?: string;
  listens: boolean;
  local?: string;
  error?: string;
}
export interface Check {
  name: 'clock' | 'agent' | 'network' | 'tmux' | 'claude';
  state: 'running' | 'ok' | 'repaired' | 'failed';
  detail?: string;
}
export interface Figures {
  cpu: number;
  cpus: number;
  memory: number;
  memory_limit: number;
  disk: number;
  disk_limit: number;
  freed?: number;
}
export type Observed = Omit<Schemas['Observed'], 'phase'> & {
  phase: 'new' | 'preparing' | 'starting' | 'awake' | 'stopping' | 'asleep' | 'failed' | 'archived' | 'deleted';
  environment?: EnvironmentRef;
  build?: string;
  figures: Figures;
  ports: Port[];
  checks: Check[];
  checked?: string;
};
export interface EnvironmentRef {
  id: string;
  version: number;
  name: string;
}
export type NetworkPolicy = 'open' | 'internet' | 'allow-list';
export interface Base {
  kind: 'default' | 'registry' | 'archive' | 'directory';
  ref?: string;
}
export interface Recipe {
  base: Base;
  setup: string;
  cpus: number;
  memory: number;
  disk: number;
  network: NetworkPolicy;
  allow: string[];
}
export interface Environment {
  id: string;
  owner: string;
  name: string;
  version: number;
  recipe: Recipe;
  archived: boolean;
  created: string;
  updated: string;
}
export interface EnvironmentVersion {
  version: number;
  recipe: Recipe;
  by: string;
  created: string;
}
export interface EnvironmentChange {
  name?: string;
  recipe?: Recipe;
  base_version: number;
}
export interface Variable {
  name: string;
  secret: boolean;
  value: string;
  bytes: number;
  by: string;
  updated: string;
}
export interface BuildStep {
  name: string;
  state: 'waiting' | 'running' | 'cached' | 'done' | 'failed';
  detail?: string;
  progress: number;
  started?: string;
  ended?: string;
  log_from: number;
}
export interface Build {
  id: string;
  environment: string;
  version: number;
  hash: string;
  runner: string;
  by: string;
  state: 'queued' | 'building' | 'ready' | 'failed' | 'cancelled';
  cancelling: boolean;
  steps: BuildStep[];
  failure?: Failure;
  line?: number;
  kept?: string;
  log_bytes: number;
  created: string;
  updated: string;
}
export interface StorageItem {
  kind: 'image' | 'base' | 'kept' | 'leftover' | 'unowned';
  name: string;
  bytes: number;
  used?: string;
  sessions: number;
}
export interface Storage {
  sessions: number;
  archived: number;
  images: number;
  reclaimable: number;
  items: StorageItem[];
  reclaimed: { request: number; freed: number; error?: string; at?: string };
}
export interface RepoItem {
  repo: string;
  variables: number;
}
export interface FoundSeed {
  repo: string;
  path: string;
  updated: string;
}
export type SeedRequest = { repo: string } | { path: string; json: string; files: Record<string, string> };
export interface Seeded {
  name: string;
  recipe: Recipe;
  understood: { what: string; became: string }[];
  not_understood: { what: string; why: string }[];
}
