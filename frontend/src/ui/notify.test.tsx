import { notifications } from '@mantine/notifications';
import { act, screen } from '@testing-library/react';
import { beforeEach, expect, it } from 'vitest';
import { Problem } from '~/api/problem';
import { show } from '~/test/render';
import { complain, say } from './notify';

beforeEach(() => {
  show(null);
});

it('says the same once, as long as it is there', async () => {
  act(() => {
    say('Saved.');
    say('Saved.');
    say('Sent.');
  });
  expect(screen.getAllByText('Saved.')).toHaveLength(1);
  expect(screen.getAllByText('Sent.')).toHaveLength(1);
  act(() => {
    notifications.hide('Saved.');
  });
  act(() => say('Saved.'));
  expect(await screen.findAllByText('Saved.')).toHaveLength(1);
});

it('complains of the same once', () => {
  act(() => {
    for (let i = 0; i < 3; i++) complain(new Problem('forbidden', 403, 'You may not.'));
  });
  expect(screen.getAllByRole('alert')).toHaveLength(1);
});
