// The Hub's nouns, by their names in Go. They are made from its OpenAPI document: `make generate`.
import type { components } from './schema.gen';

type Schemas = components['schemas'];

export type APIToken = Schemas['APIToken'];
export type AuditEntry = Schemas['AuditEntry'];
export type Base = Schemas['Base'];
export type Build = Schemas['Build'];
export type BuildStep = Schemas['BuildStep'];
export type Device = Schemas['Device'];
export type Environment = Schemas['Environment'];
export type EnvironmentChange = Schemas['EnvironmentChange'];
export type EnvironmentVersion = Schemas['EnvironmentVersion'];
export type Face = Schemas['Face'];
export type Failure = Schemas['Failure'];
export type Figures = Schemas['Figures'];
export type Finding = Schemas['Finding'];
export type Forward = Schemas['Forward'];
export type FoundSeed = Schemas['FoundSeed'];
export type HubInfo = Schemas['HubInfo'];
export type LogPart = Schemas['LogPart'];
export type Machine = Schemas['Machine'];
export type Me = Schemas['Me'];
export type NetworkPolicy = Recipe['network'];
export type NewAPIToken = Schemas['NewAPIToken'];
export type NewSession = Schemas['NewSession'];
export type OwnedRunner = Schemas['OwnedRunner'];
export type Person = Schemas['Person'];
export type Port = Schemas['Port'];
export type Presence = Schemas['Presence'];
export type Prompt = Schemas['Prompt'];
export type PromptState = Prompt['state'];
export type Recipe = Schemas['Recipe'];
export type Role = Person['role'];
export type Runner = Schemas['Runner'];
export type RunnerLink = Schemas['RunnerLink'];
export type Seed = Schemas['Seed'];
export type SeedRequest = Schemas['SeedRequest'];
export type Session = Schemas['Session'];
export type SessionChange = Schemas['SessionChange'];
export type SignIn = Schemas['SignInItem'];
export type Source = Schemas['Source'];
export type Step = Schemas['Step'];
export type StorageItem = Schemas['StorageItem'];
export type Suggestion = Schemas['Suggestion'];
export type Variable = Schemas['Variable'];

export type InputReport = Schemas['InputReport'];
export type TerminalDown = Schemas['TerminalDown'];
export type TerminalState = Schemas['TerminalState'];
export type TerminalUp = Schemas['TerminalUp'];

export type SessionVerb = 'sleep' | 'wake' | 'archive' | 'unarchive' | 'retry' | 'cancel' | 'stop' | 'new-conversation';

/** TokenScope is what an API token may be for. */
export type TokenScope = 'sessions:read' | 'sessions:drive' | 'environments' | 'runners';

/** Links are the ways to others' Runners, by the Runner's id. */
export type Links = Record<string, RunnerLink>;
