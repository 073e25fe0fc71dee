/** keys name what the query cache holds. */
export const keys = {
  hub: ['hub'] as const,
  me: ['me'] as const,
  signIns: ['sign-ins'] as const,
  sessions: (archived: boolean) => ['sessions', { archived }] as const,
  session: (id: string) => ['session', id] as const,
  prompts: (id: string) => ['prompts', id] as const,
  history: (id: string, updated: string) => ['history', id, updated] as const,
  runners: ['runners'] as const,
  environments: (archived: boolean) => ['environments', { archived }] as const,
  environment: (id: string) => ['environment', id] as const,
  versions: (id: string) => ['versions', id] as const,
  builds: (environment: string) => ['builds', environment] as const,
  build: (id: string) => ['build', id] as const,
  variables: (owner: string) => ['variables', owner] as const,
  repos: ['repos'] as const,
  seeds: ['seeds'] as const,
};
