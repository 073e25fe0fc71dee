// A person at a browser: real Chromium, the pages, and pictures of what they see.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Session } from '../src/api/types';
import { Api } from './api';
import { eventually, Hopeless, slower } from './wait';

const program = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
].find(existsSync);

export const desktop = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

export async function launch(): Promise<Browser> {
  if (!program) throw new Error('Chromium is missing: apt-get install chromium');
  return chromium.launch({
    executablePath: program,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A Person's browser with one page. Everything that goes wrong in the page's console is kept. */
export class Visitor {
  readonly trouble: string[] = [];
  private shots = 0;
  private typed = '';
  private origin = '';
  private secrets = new Set<string>();

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly story: string,
  ) {
    page.on('pageerror', (error) => this.trouble.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') this.trouble.push(`${message.text()} ${message.location().url}`);
    });
  }

  static async open(
    browser: Browser,
    story: string,
    options: Parameters<Browser['newContext']>[0] = { viewport: desktop },
  ): Promise<Visitor> {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(30_000 * slower);
    return new Visitor(context, await context.newPage(), story);
  }

  /** Another page of the same signed-in person. */
  async another(): Promise<Visitor> {
    const other = new Visitor(this.context, await this.context.newPage(), this.story);
    other.origin = this.origin;
    other.secrets = this.secrets;
    return other;
  }

  /** Says which Hub this browser visits, and where the secrets go that it gets there. */
  visits(rig: { url: string; secrets: Set<string> }): void {
    this.origin = rig.url;
    this.secrets = rig.secrets;
  }

  /** Goes to a page of the Hub. */
  async goto(path: string): Promise<void> {
    await this.page.goto(this.origin + path);
  }

  /** The API, as this person. */
  get api(): Api {
    return new Api(this.page, this.origin);
  }

  async open(session: string): Promise<void> {
    await this.page.goto(`${this.origin}/sessions/${session}`);
  }

  /** Runs a command line in the Session, as Claude Code's "!" does, and waits for its answer. */
  async shell(command: string, answer: string | RegExp, seconds = 60): Promise<string> {
    await this.typing();
    await this.page.getByTestId('terminal').first().click();
    await this.press('Backspace'); // a "!" that was sent while Claude worked leaves the mode on
    await this.type('!');
    await this.page.keyboard.insertText(`${command} #`); // a path at the very end would open a menu
    await this.sees(/#\s*\n\s*─/); // in the box, and not from before
    await this.press('Enter');
    // A menu that was just closing takes an Enter for itself.
    await this.sees(answer, 5).catch(() => this.press('Enter'));
    return this.sees(answer, seconds);
  }

  /** Has a plain shell print a line. */
  async say(line: string): Promise<void> {
    await this.type(`echo ${line}`);
    await this.press('Enter');
    await this.sees(new RegExp(`^${line}$`, 'm'));
  }

  async signIn(link: string): Promise<void> {
    this.origin = new URL(link).origin;
    await this.page.goto(link);
    await this.home();
  }

  /** Signs in at the stand-in for GitHub, as a person does who comes for a page, and waits for that page. */
  async signInAs(login: string, page = '/sessions'): Promise<void> {
    await this.goto(page);
    await this.atGitHub();
    await this.pick(login);
    await this.page.waitForURL(this.origin + page);
    if (page === '/sessions') await this.home();
    await this.keepSecrets();
  }

  /** Goes from the sign-in page to the stand-in's. */
  async atGitHub(): Promise<void> {
    await this.page.getByTestId('sign-in-github').click();
    await this.page.getByText("It is not GitHub, and nobody's GitHub account is used here").waitFor();
  }

  /** Signs in as somebody on the stand-in's page. */
  async pick(login: string): Promise<void> {
    await this.page.getByRole('button', { name: new RegExp(`^Sign in as ${login}( \\(|$)`) }).click();
  }

  /** The list of the Sessions, once it is there. */
  private async home(): Promise<void> {
    await this.page
      .getByRole('heading', { name: /sessions/i })
      .or(this.page.getByRole('button', { name: /new session/i }).first())
      .first()
      .waitFor();
  }

  /** What this browser holds that opens the Hub. */
  async keepSecrets(): Promise<void> {
    for (const cookie of await this.context.cookies(this.origin)) if (cookie.value) this.secrets.add(cookie.value);
  }

  /** Enters a device's code. */
  async enter(code: string): Promise<void> {
    await this.goto('/device');
    await this.page.getByLabel('Code').fill(code);
    await this.act('Continue');
  }

  /** Approves a device by its code. */
  async approve(code: string): Promise<void> {
    await this.enter(code);
    await this.act('Approve');
    await this.page.getByRole('heading', { name: 'Approved' }).waitFor();
  }

  async shot(name: string): Promise<void> {
    const folder = join(import.meta.dirname, 'out', this.story);
    mkdirSync(folder, { recursive: true });
    this.shots++;
    await this.page.screenshot({ path: join(folder, `${String(this.shots).padStart(2, '0')}-${name}.png`) });
  }

  /** Makes a Session through the dialog and returns its id. */
  async newSession(
    o: { title?: string; git?: string; branch?: string; prompt?: string; model?: string } = {},
  ): Promise<string> {
    const { page } = this;
    await page
      .getByRole('button', { name: /new session/i })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    if (o.title) await dialog.getByLabel('What').fill(o.title);
    if (o.git) {
      await dialog.getByText('Git repository').click();
      await dialog.getByLabel('Git URL').fill(o.git);
      if (o.branch) await dialog.getByLabel('Branch').fill(o.branch);
    }
    if (o.prompt) await dialog.getByLabel('First prompt').fill(o.prompt);
    if (o.model) await dialog.getByLabel('Model').fill(o.model);
    await dialog.getByRole('button', { name: 'Start Session' }).click();
    await page.waitForURL(/\/sessions\/ses_/);
    const id = page.url().match(/ses_[0-9a-v]{26}/);
    if (!id) throw new Error(`no Session in ${page.url()}`);
    return id[0];
  }

  /** The text on the terminal, lines joined by line feeds. */
  async text(): Promise<string> {
    return this.page
      .getByTestId('terminal')
      .first()
      .evaluate((e) => (e as HTMLElement & { terminalText?: () => string }).terminalText?.() ?? '');
  }

  async sees(what: string | RegExp, seconds = 60): Promise<string> {
    let last = '';
    return eventually(
      `the terminal to show ${what}`,
      async () => {
        last = await this.text();
        return (typeof what === 'string' ? last.includes(what) : what.test(last)) ? last : undefined;
      },
      seconds,
    ).catch((error) => {
      throw new Error(`${error.message}\n--- the terminal has:\n${last}`);
    });
  }

  /** Waits for a word in the Session's status. */
  async status(word: RegExp, seconds = 90): Promise<void> {
    let last = '';
    await eventually(
      `the status ${word}`,
      async () => {
        last = (await this.page.getByTestId('session-status').first().textContent()) ?? '';
        if (word.test(last)) return true;
        if (/failed/i.test(last)) {
          const { generation, observed } = await this.session();
          if (observed?.phase === 'failed' && observed.generation === generation)
            throw new Hopeless(`waited for the status ${word}`);
        }
        return false;
      },
      seconds,
    ).catch(async (error) => {
      const { observed } = await this.session();
      throw new Error(`${error.message}; it is "${last}"\n${JSON.stringify(observed, undefined, 1)}`);
    });
  }

  /** What the Hub says of the Session that the page shows. */
  private async session(): Promise<Partial<Session>> {
    const url = new URL(this.page.url());
    const id = url.pathname.match(/ses_[0-9a-v]{26}/)?.[0];
    const answer = await this.page.request.get(`${url.origin}/api/sessions/${id}`);
    return (await answer.json()) as Partial<Session>;
  }

  /** Typing is on: the terminal takes keys. */
  async typing(seconds = 30): Promise<void> {
    await eventually(
      'typing to be on',
      async () => (await this.page.locator('[data-typing="true"]').count()) > 0,
      seconds,
    );
  }

  async type(keys: string): Promise<void> {
    await this.typing();
    await this.page.getByTestId('terminal').first().click();
    await this.page.keyboard.type(keys, { delay: 5 });
    this.typed = keys;
  }

  async press(key: string): Promise<void> {
    // As a person does: who presses Enter before the text shows may find it in the box again, when Claude is very slow.
    if (key === 'Enter' && this.typed) await this.sees(this.typed.slice(-12), 3).catch(() => undefined);
    this.typed = '';
    await this.page.keyboard.press(key);
  }

  async act(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).first().click();
  }

  async menu(name: string): Promise<void> {
    await this.page.getByRole('button', { name: 'More', exact: true }).click();
    await this.page.getByRole('menuitem', { name }).click();
  }
}
