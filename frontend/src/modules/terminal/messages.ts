// The terminal's WebSocket, as internal/wire/terminal.go has it; its messages' types are in api/types.

export const subprotocol = 'claude-hub.terminal.v1';

/** What one message may hold; internal/claudehub has the same numbers. */
export const maxPaste = 512 << 10;
export const maxKeys = 16 << 10;
