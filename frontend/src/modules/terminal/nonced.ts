import { styleNonce } from '~/ui/nonce';

/**
 * noncedDocument is this document, except that style elements made through it carry the page's nonce. xterm.js writes
 * its colours and cell sizes into style elements, which the Content-Security-Policy refuses without one.
 */
export function noncedDocument(): Document {
  const nonce = styleNonce();
  return new Proxy(document, {
    get(target, key) {
      if (key === 'createElement') {
        return (tag: string, options?: ElementCreationOptions) => {
          const element = target.createElement(tag, options);
          if (tag === 'style') element.nonce = nonce;
          return element;
        };
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
