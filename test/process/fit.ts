/** How something grows: least squares over rows of causes, by the normal equations. */

/** The factors b of `value ≈ b0 + b1·x1 + b2·x2 …`; a cause that never changes has factor 0. */
export function fitPlane(rows: readonly { causes: readonly number[]; value: number }[]): number[] {
  const width = (rows[0]?.causes.length ?? 0) + 1;
  const means = meansOf(rows.map(({ causes, value }) => [...causes, value]));
  // Around their means, so that large numbers leave digits for small differences.
  const centred = rows.map(({ causes, value }) => [...causes, value].map((number, n) => number - means[n]!));
  const matrix = Array.from({ length: width - 1 }, (_, one) =>
    Array.from({ length: width }, (_, other) => centred.reduce((sum, row) => sum + row[one]! * row[other]!, 0)),
  );
  const factors = solve(matrix);
  const start = factors.reduce((left, factor, n) => left - factor * means[n]!, means.at(-1)!);
  return [start, ...factors];
}

function meansOf(rows: number[][]): number[] {
  return rows[0]!.map((_, n) => rows.reduce((sum, row) => sum + row[n]!, 0) / rows.length);
}

/** Gaussian elimination of rows whose last column is the right side. */
function solve(matrix: number[][]): number[] {
  const size = matrix.length;
  const scale = matrix.map((row, n) => row[n]!);
  for (let step = 0; step < size; step++) {
    const pivot = matrix[step]!;
    if (Math.abs(pivot[step]!) <= 1e-12 * scale[step]!) continue;
    for (let other = 0; other < size; other++) {
      if (other === step) continue;
      const factor = matrix[other]![step]! / pivot[step]!;
      matrix[other] = matrix[other]!.map((number, n) => number - factor * pivot[n]!);
    }
  }
  return matrix.map((row, n) => (Math.abs(row[n]!) <= 1e-12 * scale[n]! ? 0 : row[size]! / row[n]!));
}
