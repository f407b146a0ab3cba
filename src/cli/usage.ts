/** A command line that cannot be used; the message is meant for whoever typed it. Ends with exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
