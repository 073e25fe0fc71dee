// The Hub's nouns, by their names in Go. They are made from its OpenAPI document: `make generate`.
import type { components } from './schema.gen';

type Schemas = components['schemas'];

export type Finding = Schemas['Finding'];
export type Failure = Schemas['Failure'];
export type Machine = Schemas['Machine'];
export type NewSession = Schemas['NewSession'];
export type Prompt = Schemas['Prompt'];
export type PromptState = Prompt['state'];
export type Runner = Schemas['Runner'];
export type Session = Schemas['Session'];
export type SessionChange = Schemas['SessionChange'];
export type SignIn = Schemas['SignInItem'];
export type Source = Schemas['Source'];
export type Step = Schemas['Step'];

export type InputReport = Schemas['InputReport'];
export type TerminalDown = Schemas['TerminalDown'];
export type TerminalState = Schemas['TerminalState'];
export type TerminalUp = Schemas['TerminalUp'];

export type SessionVerb = 'sleep' | 'wake' | 'archive' | 'unarchive' | 'retry' | 'cancel' | 'stop' | 'new-conversation';
