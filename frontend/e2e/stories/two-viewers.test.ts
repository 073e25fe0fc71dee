// Two viewers of different sizes, one of them slow. One owns the size; the other is letterboxed and can claim it. A flood
// does not delay Ctrl-C, the fast one is not held up by the slow one, and the slow one ends at the current screen.
import { expect, test } from 'vitest'
import { eventually } from '../programs'
import { story } from '../story'

const { rig, person } = story('two-viewers', { script: 'flood.json' })

test('two-viewers', async () => {
  const big = await person()
  const id = await big.newSession({ title: 'Two viewers' })
  await big.status(/ready/i)
  const small = await person({ viewport: { width: 800, height: 600 } })
  const slow = await small.context.newCDPSession(small.page)
  await small.page.goto(`${rig.url}/sessions/${id}`)
  await small.sees('bypass permissions on')
  await big.type('who owns the size')
  await small.sees('who owns the size')
  await big.shot('owner')
  await small.shot('letterboxed')
  expect(await small.page.locator('[data-letterboxed="true"]').count()).toBe(1)
  expect(await big.page.locator('[data-letterboxed="true"]').count()).toBe(0)
  for (let i = 0; i < 'who owns the size'.length; i++) await big.press('Backspace')

  // T4: a flood, with a slow viewer.
  await slow.send('Network.enable')
  await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 50, downloadThroughput: 50 << 10, uploadThroughput: 50 << 10 })
  await big.type('!yes')
  await big.press('Enter')
  await big.sees(/y\s*\n\s*y/)
  await big.page.waitForTimeout(5000) // let it flood
  const began = Date.now()
  await big.press('Control+c')
  await big.sees(/(interrupted|\^C|Interrupted)/i, 20).catch(() => undefined)
  await eventually('the flood to end', async () => {
    const first = await big.text()
    await big.page.waitForTimeout(300)
    return (await big.text()) === first
  }, 20)
  expect(Date.now() - began).toBeLessThan(15_000)
  await big.status(/ready/i)
  await big.type('after the flood')
  await big.sees('after the flood', 5)
  await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
  await small.sees('after the flood', 30)
  await small.shot('caught-up')
  for (let i = 0; i < 'after the flood'.length; i++) await big.press('Backspace')

  // The other claims the size.
  await small.page.getByRole('button', { name: /use this size|claim|fit/i }).first().click()
  await eventually('the size to change hands', async () => (await big.page.locator('[data-letterboxed="true"]').count()) === 1)
  await small.type('mine now')
  await big.sees('mine now')
})
