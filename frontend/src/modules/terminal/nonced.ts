import { styleNonce } from '~/ui/nonce';

// xterm.js writes its colours and cell sizes into style elements, and its DOM renderer writes true colours as style
// attributes. The Content-Security-Policy refuses both, but for style elements that carry the page's nonce and for styles
// set through the object model.

// The same result for a style attribute of a span, by the way that the policy allows. The DOM renderer makes its spans
// with the global document, so it cannot be done nearer to it.
HTMLSpanElement.prototype.setAttribute = function (name: string, value: string) {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
};

function nonced(element: HTMLElement): HTMLElement {
  if (element instanceof HTMLStyleElement) element.nonce = styleNonce();
  return element;
}

/** noncedDocument is this document, except that style elements made through it carry the nonce. */
export function noncedDocument(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === 'createElement') {
        return (tag: string, options?: ElementCreationOptions) => nonced(target.createElement(tag, options));
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
    nonced(create.call(document, tag, options))) as typeof document.createElement;
  try {
    run();
  } finally {
    document.createElement = create;
  }
}
