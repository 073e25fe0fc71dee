import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import { EditorState, RangeSet, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  drawSelection,
  EditorView,
  GutterMarker,
  gutterLineClass,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { styleNonce } from '~/ui/nonce';

// Colours are variables, so that light and dark change with the pages and nothing is made anew.
const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', color: 'var(--mantine-color-text)', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '20px',
    overflow: 'auto',
    overscrollBehavior: 'contain',
  },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--mantine-color-text)' },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)', borderLeftWidth: '2px' },
  '.cm-gutters': { color: 'var(--quiet)', backgroundColor: 'transparent', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 8px 0 12px', minWidth: '40px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-placeholder': { color: 'var(--mantine-color-placeholder)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--accent-ring) 30%, transparent)',
  },
  '.cm-failed': {
    backgroundColor: 'color-mix(in srgb, var(--tone-failed) 14%, transparent)',
    boxShadow: 'inset 3px 0 0 var(--tone-failed)',
  },
  '.cm-gutterElement.cm-failed': { color: 'var(--tone-failed-text)', fontWeight: '700', boxShadow: 'none' },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.controlKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.atom], color: 'var(--code-number)' },
  { tag: [tags.standard(tags.name), tags.standard(tags.variableName)], color: 'var(--code-command)' },
  { tag: [tags.definition(tags.variableName), tags.variableName], color: 'var(--code-variable)' },
  { tag: [tags.attributeName, tags.meta], color: 'var(--code-option)' },
]);

/** markFailed marks a line, 1, 2, 3 …, or none with 0. */
const markFailed = StateEffect.define<number>();

const failedLine = Decoration.line({ class: 'cm-failed' });
const failedNumber = new (class extends GutterMarker {
  override elementClass = 'cm-failed';
})();

/** failed is where the marked line begins now: typing above it moves it along. -1 for none. */
const failed = StateField.define<number>({
  create: () => -1,
  update(at, tr) {
    let to = at < 0 ? at : tr.changes.mapPos(at, 1);
    for (const e of tr.effects) {
      if (e.is(markFailed)) to = e.value > 0 && e.value <= tr.newDoc.lines ? tr.newDoc.line(e.value).from : -1;
    }
    return to < 0 ? -1 : tr.newDoc.lineAt(to).from;
  },
  provide: (field) => [
    EditorView.decorations.from(field, (at) => (at < 0 ? Decoration.none : Decoration.set(failedLine.range(at)))),
    gutterLineClass.from(field, (at) => (at < 0 ? RangeSet.empty : RangeSet.of([failedNumber.range(at)]))),
  ],
});

/**
 * typedOver replaces a selection by what is typed. Left to the browser, it keeps the look of what was there in a style
 * attribute, which the Content-Security-Policy refuses.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: (e, view) => {
    if (e.inputType !== 'insertText' || e.data === null || view.composing) return false;
    if (view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(e.data), { scrollIntoView: true, userEvent: 'input.type' });
    return true;
  },
});

interface Options {
  text: string;
  describedBy: string;
  changed: (text: string) => void;
}

/** makeEditor puts a shell script's editor into an element. Tab indents; Escape, then Tab leaves, as CodeMirror has it. */
export function makeEditor(parent: HTMLElement, o: Options): EditorView {
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: o.text,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        indentUnit.of('  '),
        EditorState.tabSize.of(4),
        StreamLanguage.define(shell),
        syntaxHighlighting(colours),
        failed,
        typedOver,
        placeholder('apt-get update && apt-get install -y …'),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          'aria-label': 'Setup script',
          'aria-describedby': o.describedBy,
          spellcheck: 'false',
          autocorrect: 'off',
          autocapitalize: 'off',
        }),
        EditorView.updateListener.of((u) => {
          if (u.docChanged) o.changed(u.state.doc.toString());
        }),
        look,
      ],
    }),
  });
}

/** setText replaces what stands there, if it differs; one step back undoes it. */
export function setText(view: EditorView, text: string) {
  const now = view.state.doc.toString();
  if (now === text) return;
  view.dispatch({ changes: { from: 0, to: now.length, insert: text } });
}

export function setFailed(view: EditorView, line: number) {
  view.dispatch({ effects: markFailed.of(line) });
}

/** reveal goes to a line. */
export function reveal(view: EditorView, line: number) {
  const at = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines)).from;
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
  view.focus();
}
