// What every story has: a rig, a browser, and an end that leaves nothing behind.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import type { Login } from './github';
import { launch, Visitor } from './pages';
import { Rig, type RigOptions } from './programs';

type Context = Parameters<Browser['newContext']>[0];

export interface Story {
  rig: Rig;
  /** A person who has signed in by a link, in a browser of their own. */
  person(options?: Context): Promise<Visitor>;
  /** One who has signed in with GitHub, in a browser of their own. */
  as(login: Login, options?: Context): Promise<Visitor>;
  /** A browser in which nobody has signed in. */
  nobody(options?: Context): Promise<Visitor>;
}

export function story(name: string, options: RigOptions = {}): Story {
  const rig = new Rig();
  const visitors: Visitor[] = [];
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
    await rig.start(options);
  });
  afterAll(async () => {
    for (const v of visitors) if (!v.page.isClosed()) await v.shot('end');
    await browser?.close();
    await rig.stop(name);
  });
  const nobody = async (context?: Context) => {
    const visitor = await Visitor.open(browser, name, context);
    visitor.visits(rig);
    visitors.push(visitor);
    return visitor;
  };
  return {
    rig,
    nobody,
    async person(context) {
      const visitor = await nobody(context);
      await visitor.signIn(rig.signInLink());
      return visitor;
    },
    async as(login, context) {
      const visitor = await nobody(context);
      await visitor.signInAs(login);
      return visitor;
    },
  };
}
