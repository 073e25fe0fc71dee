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
export type Prompt = Schemas['Prompt'];
export type PromptState = Prompt['state'];
export type Recipe = Schemas['Recipe'];
export type Runner = Schemas['Runner'];
export type Seed = Schemas['Seed'];
export type SeedRequest = Schemas['SeedRequest'];
export type Session = Schemas['Session'];
export type SessionChange = Schemas['SessionChange'];
export type SignIn = Schemas['SignInItem'];
export type Source = Schemas['Source'];
export type Step = Schemas['Step'];
export type StorageItem = Schemas['StorageItem'];
export type Variable = Schemas['Variable'];

export type InputReport = Schemas['InputReport'];
export type TerminalDown = Schemas['TerminalDown'];
export type TerminalState = Schemas['TerminalState'];
export type TerminalUp = Schemas['TerminalUp'];

export type SessionVerb = 'sleep' | 'wake' | 'archive' | 'unarchive' | 'retry' | 'cancel' | 'stop' | 'new-conversation';
