type Counts = typeof import('../paths/counts.json', { with: { type: 'json' }});

type MachineName = keyof Counts;

export interface Part {
  met: number;
  of: number;
  percent: number;
  missing: string[];
}

export interface PathsDocument {
  version: string;
  machines: {
    name: MachineName;
    coverage: Record<'states' | 'transitions' | 'guardOutcomes' | 'edges' | 'pairs', Part>;
    broken: { id: string; title: string; problem: string }[];
    paths: {
      id: string;
      title: string;
      input: string;
      outcome: string;
      steps: { event: string; from: string; to: string; effect: string }[];
    }[];
  }[];
}

/** What `paths --format json` printed. */
export const documentOf = (stdout: string): PathsDocument => JSON.parse(stdout) as PathsDocument;
