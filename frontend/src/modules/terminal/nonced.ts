import { styleNonce } from '~/ui/nonce';

// xterm.js writes its colours and cell sizes into style elements, and its DOM renderer writes true colours as style
// attributes. The Content-Security-Policy refuses both, but for style elements that carry the page's nonce and for styles
// set through the object model.

function made(element: HTMLElement): HTMLElement {
  if (element instanceof HTMLStyleElement) element.nonce = styleNonce();
  if (element instanceof HTMLSpanElement) element.setAttribute = setAttribute;
  return element;
}

function setAttribute(this: HTMLElement, name: string, value: string) {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** noncedDocument is this document, except that what is made through it passes the policy. */
export function noncedDocument(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === 'createElement') {
        return (tag: string, options?: ElementCreationOptions) => made(target.createElement(tag, options));
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** withNonces is for what reaches for the global document all the same, while it runs: xterm.js 6 makes the style of its
 * scroll bar there when it opens. */
export function withNonces(run: () => void) {
  const create = document.createElement;
  document.createElement = ((tag: string, options?: ElementCreationOptions) =>
    made(create.call(document, tag, options))) as typeof document.createElement;
  try {
    run();
  } finally {
    document.createElement = create;
  }
}
