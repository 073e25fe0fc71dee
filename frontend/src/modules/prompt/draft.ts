const key = (session: string) => `claude-hub.draft.${session}`;

/** readDraft gives what was typed in this tab and not sent yet. */
export function readDraft(session: string): string {
  try {
    return sessionStorage.getItem(key(session)) ?? '';
  } catch {
    return '';
  }
}

export function writeDraft(session: string, text: string) {
  try {
    sessionStorage.setItem(key(session), text);
  } catch {
    // Full or off: the text is still in the box.
  }
}

export function clearDraft(session: string) {
  try {
    sessionStorage.removeItem(key(session));
  } catch {
    // Nothing was kept.
  }
}
