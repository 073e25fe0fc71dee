import type { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { makeEditor, reveal, setFailed, setText } from './editor';
import classes from './Recipe.module.css';

interface Props {
  text: string;
  /** failed is the line to mark, 1, 2, 3 …; 0 for none. */
  failed: number;
  /** go asks for a line to be shown; each new object is a new wish. */
  go: { line: number } | undefined;
  describedBy: string;
  change: (text: string) => void;
}

/** SetupEditor is where a setup script is written. It comes in a chunk of its own: CodeMirror is large. */
export default function SetupEditor({ text, failed, go, describedBy, change }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ text, change, describedBy });
  latest.current = { text, change, describedBy };

  useEffect(() => {
    if (!host.current) return;
    const made = makeEditor(host.current, {
      text: latest.current.text,
      describedBy: latest.current.describedBy,
      changed: (t) => latest.current.change(t),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    if (view.current) setText(view.current, text);
  }, [text]);

  useEffect(() => {
    if (view.current) setFailed(view.current, failed);
  }, [failed]);

  useEffect(() => {
    if (view.current && go) reveal(view.current, go.line);
  }, [go]);

  return <div ref={host} className={classes.editor} data-testid="setup-editor" />;
}
