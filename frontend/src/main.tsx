import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './ui/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { client } from './api/client';
import { router } from './router';
import { styleNonce } from './ui/nonce';
import { theme, variables } from './ui/theme';

setNonce(styleNonce()); // the scroll lock below dialogs writes a style element

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={variables}
      getStyleNonce={styleNonce}
    >
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Notifications position="bottom-right" limit={4} containerWidth={360} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
