const browsers: [RegExp, string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];

const systems: [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Mac OS X/, 'macOS'],
  [/Windows/, 'Windows'],
  [/Linux/, 'Linux'],
];

/** browserName says in two words what a user agent is. The order matters: each claims to be those below it. */
export function browserName(agent: string): string {
  const browser = browsers.find(([re]) => re.test(agent))?.[1];
  const system = systems.find(([re]) => re.test(agent))?.[1];
  if (!browser) return agent.slice(0, 40) || 'Unknown browser';
  return system ? `${browser} on ${system}` : browser;
}
