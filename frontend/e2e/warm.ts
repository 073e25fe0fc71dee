// Makes the base image once for all stories in the emulated machine, by having one Session start and end, and keeps it.
import { launch, Visitor } from './pages';
import { place, quote, there, warm } from './place';
import { Rig } from './programs';
import { eventually } from './wait';

export default async function setup(): Promise<void> {
  if (place.backend === 'bubblewrap' || there(`ls -d ${warm} 2>/dev/null || true`)) return;
  const rig = new Rig();
  const browser = await launch();
  try {
    await rig.start();
    const visitor = await Visitor.open(browser, 'warm');
    await visitor.signIn(rig.signInLink());
    const { api } = visitor;
    const id = await api.start('Warms up');
    // Its image is there once its own Sandbox starts.
    await api.observe(id, 'starting', (s) => ['starting', 'awake'].includes(s.observed.phase), 400);
    await api.act(id, 'archive');
    await eventually('its Sandbox to be gone', () => rig.runnerCommand(['sandboxes', 'list']).trim() === '', 60);
    await rig.runner.end();
    there(
      `mkdir ${warm} && cd ${quote(rig.runnerDir)} && cp -a --sparse=always vm builds ${warm}/ && rm -rf ${warm}/vm/tmp/*`,
    );
  } finally {
    await browser.close();
    await rig.stop('warm');
  }
}
