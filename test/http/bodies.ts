/** Bodies of the right shape, and what they are made of. */
export const PUBLIC = '6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=';
export const HASH = 'f8b904775578e562e4acd2f449fc8fea4cac00c97ad714f3a092880c341e07fb';
export const PROOF = {
  method: 'ed25519-v2',
  public: PUBLIC,
  digest: 'c165d4984909df388f4074840c57b0771ef08ae26ec8713c2ffa101da8de3770',
  result: 'cTYuS/lOto70Pww1LrfIT7fUkaw+iAWp+E+4Iy4cz2Do0wY8aqtECHzvQZxUdaY1jpinY5NzYDsQzhSEaobaCQ==',
};
export const TRANSFER = {
  action: 'transfer',
  source: { handle: 'a' },
  target: { handle: 'b' },
  symbol: { handle: 'usd' },
  amount: 1,
};

export const bodyOf = (data: unknown) => ({ hash: HASH, data, meta: { proofs: [PROOF] } });
