// A site of somebody else's, on loopback: of the same host as the Hub on another port, which is the same site to a browser
// and gets the Hub's strict cookies, and of the name localhost, which is another site.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export class Site {
  private server?: Server;
  private port = 0;
  private html = '';
  /** What it was asked: a browser that was sent astray shows here. */
  readonly asked: string[] = [];

  async start(): Promise<void> {
    const server = createServer((question, answer) => {
      const icon = question.url === '/favicon.ico';
      if (!icon) this.asked.push(`${question.headers.host}${question.url}`);
      answer.writeHead(icon ? 404 : 200, { 'Content-Type': 'text/html; charset=utf-8' });
      answer.end(icon ? '' : this.html);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  /** What its page is from now on. */
  shows(html: string): void {
    this.html = `<!doctype html><title>A prize for you</title>${html}`;
  }

  /** Another origin of the Hub's own site. */
  get near(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Another site. */
  get far(): string {
    return `http://localhost:${this.port}`;
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }
}
