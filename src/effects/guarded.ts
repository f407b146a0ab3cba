/** What `work` comes to. Where it throws, which is a defect of ours, that is told and `otherwise` counts. */
export function guarded<T>(work: () => T, otherwise: T, defect: (error: Error) => void): T {
  try {
    return work();
  } catch (error) {
    defect(error as Error);
    return otherwise;
  }
}
