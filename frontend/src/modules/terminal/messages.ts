import type { Link } from '~/api/types';

// The terminal's WebSocket, as internal/wire/terminal.go has it.

export const subprotocol = 'claude-hub.terminal.v1';

/** What one message may hold; internal/claudehub has the same numbers. */
export const maxPaste = 512 << 10;
export const maxKeys = 16 << 10;

export interface TerminalUp {
  type: 'hello' | 'keys' | 'paste' | 'size' | 'claim' | 'ack' | 'ping';
  terminal?: string;
  cols?: number;
  rows?: number;
  active?: boolean;
  n?: number;
  life?: string;
  data?: string;
  bytes?: number;
  id?: number;
}

export interface InputReport {
  terminal: string;
  life: string;
  n: number;
  state: 'delivered' | 'applied' | 'refused' | 'expired';
  why?: string;
}

export interface TerminalState {
  drive: boolean;
  owner: boolean;
  cols: number;
  rows: number;
  viewers: number;
  runner: Link;
  sandbox: Link;
}

export interface TerminalDown {
  type: 'state' | 'input' | 'pong' | 'refused';
  state?: TerminalState;
  input?: InputReport;
  id?: number;
  why?: string;
}
