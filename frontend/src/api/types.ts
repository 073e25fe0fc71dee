// The Hub's nouns, as internal/claudehub has them.

export type LinkState = 'up' | 'down' | 'none';
export interface Link {
  state: LinkState;
  since: string;
}

export interface Person {
  id: string;
  login: string;
  name: string;
  created: string;
}

export type Desired = 'awake' | 'asleep' | 'archived';
export type Phase = 'new' | 'preparing' | 'starting' | 'awake' | 'stopping' | 'asleep' | 'failed' | 'archived';
export type Activity = 'ready' | 'busy' | 'needs_you' | 'unknown';

export interface Step {
  name: string;
  detail?: string;
  progress: number;
  since: string;
  deadline: string;
}

export interface Failure {
  step: string;
  reason: string;
  fix: string;
  detail?: string;
  retry: boolean;
  choice?: 'new_conversation';
}

export interface Observed {
  phase: Phase;
  activity?: Activity;
  generation: number;
  step?: Step;
  failure?: Failure;
  doing?: string;
  notice?: string;
  sandbox_link: Link;
  since: string;
}

export interface Source {
  git_url?: string;
  branch?: string;
}

export interface Session {
  id: string;
  title: string;
  creator: string;
  runner: string;
  source: Source;
  desired: Desired;
  model: string;
  effort: string;
  generation: number;
  observed: Observed;
  created: string;
  updated: string;
}

export interface Finding {
  name: string;
  ok: boolean;
  fatal?: boolean;
  detail: string;
  fix?: string;
}

export interface Machine {
  hostname: string;
  os: string;
  arch: string;
  version: string;
  claude: string;
  backend: string;
  protocol: number;
  cpus: number;
  load: number;
  memory_total: number;
  memory_free: number;
  disk_total: number;
  disk_free: number;
  sessions_memory: number;
  awake: number;
  setup_token: boolean;
  stand_in: boolean;
  doctor: Finding[] | null;
  unowned: string[] | null;
  reported: string;
}

export interface Runner {
  id: string;
  owner: string;
  name: string;
  link: Link;
  machine: Machine;
  created: string;
}

export type PromptState = 'queued' | 'delivered' | 'accepted' | 'done' | 'expired' | 'cancelled' | 'failed';

export interface Prompt {
  id: string;
  session: string;
  author: string;
  text: string;
  state: PromptState;
  why?: string;
  created: string;
  updated: string;
  expires: string;
}

export interface HubInfo {
  version: string;
  mode: string;
  notice: string;
  protocol: number;
  models: string[];
  efforts: string[];
  max_prompt: number;
  signed_in: boolean;
}

export interface SignIn {
  id: string;
  user_agent: string;
  address: string;
  created: string;
  last_used: string;
  current: boolean;
}

export interface HistoryItem {
  at: string;
  kind: string;
  text: string;
}

export interface NewSession {
  runner: string;
  title?: string;
  source: Source;
  model: string;
  effort: string;
  prompt?: string;
  request?: string;
}

export type SessionVerb = 'sleep' | 'wake' | 'archive' | 'unarchive' | 'retry' | 'cancel' | 'stop' | 'new-conversation';
