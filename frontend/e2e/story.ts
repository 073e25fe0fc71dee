// What every story has: a rig, a browser, and an end that leaves nothing behind.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { launch, Visitor } from './pages';
import { Rig, type RigOptions } from './programs';

export interface Story {
  rig: Rig;
  /** A person who has signed in, in a browser of their own. */
  person(options?: Parameters<Browser['newContext']>[0]): Promise<Visitor>;
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
  return {
    rig,
    async person(context) {
      const visitor = await Visitor.open(browser, name, context);
      visitors.push(visitor);
      await visitor.signIn(rig.signInLink());
      return visitor;
    },
  };
}
