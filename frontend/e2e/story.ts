// What every story has: a rig, a browser, and an end that leaves nothing behind.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { Visitor, launch } from './pages'
import { Rig, type RigOptions } from './programs'

export interface Story {
  rig: Rig
  /** A person who has signed in, in a browser of their own. */
  person(options?: Parameters<Browser['newContext']>[0]): Promise<Visitor>
}

export function story(name: string, options: RigOptions = {}): Story {
  const rig = new Rig()
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
    await rig.start(options)
  })
  afterAll(async () => {
    await browser?.close()
    await rig.stop()
  })
  return {
    rig,
    async person(context) {
      const visitor = await Visitor.open(browser, name, context)
      await visitor.signIn(rig.signInLink())
      return visitor
    },
  }
}
