import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Empty } from '~/ui/Empty';
import { useTitle } from '~/ui/title';

export function NotFound() {
  useTitle('Not found');
  return (
    <Empty title="There is no such page" level={1}>
      <Anchor component={Link} to="/sessions">
        To the Sessions
      </Anchor>
    </Empty>
  );
}
