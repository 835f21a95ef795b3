// Keys and random numbers, as section 1 of docs/semantics.md defines them. All words have 64 bits.

const MASK = 2n ** 64n - 1n;

// The n-th output, from 0, of Steele, Lea and Flood's SplitMix64.
function splitmix64(seed, number) {
  let z = (seed + (number + 1n) * 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

// BLAKE2b (RFC 7693) without a key, with a digest of 8 bytes.

const INITIAL = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const ORDERS = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4], [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13], [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11], [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5], [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const COLUMNS = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
const BLOCK = 128;
const rotate = (word, bits) => ((word >> bits) | (word << (64n - bits))) & MASK;

// The first word of the digest, lowest byte first.
function blake2b(bytes) {
  const hash = [...INITIAL], padded = new Uint8Array(Math.max(1, Math.ceil(bytes.length / BLOCK)) * BLOCK);
  padded.set(bytes);
  hash[0] ^= 0x01010008n;
  const words = new DataView(padded.buffer);
  for (let start = 0; start < padded.length; start += BLOCK) {
    const isLast = start + BLOCK === padded.length, count = isLast ? bytes.length : start + BLOCK;
    const message = Array.from({ length: 16 }, (_, at) => words.getBigUint64(start + 8 * at, true)), v = [...hash, ...INITIAL];
    v[12] ^= BigInt(count);
    if (isLast) v[14] ^= MASK;
    for (let round = 0; round < 12; round++) COLUMNS.forEach((column, at) => mix(v, ...column, ...ORDERS[round % 10].slice(2 * at, 2 * at + 2).map((word) => message[word])));
    hash.forEach((word, at) => { hash[at] = word ^ v[at] ^ v[at + 8]; });
  }
  return hash[0];
}

function mix(v, a, b, c, d, x, y) {
  for (const [word, first, second] of [[x, 32n, 24n], [y, 16n, 63n]]) {
    v[a] = (v[a] + v[b] + word) & MASK;
    v[d] = rotate(v[d] ^ v[a], first);
    v[c] = (v[c] + v[d]) & MASK;
    v[b] = rotate(v[b] ^ v[c], second);
  }
}

const nameKeys = new Map();

// The key of a name.
function nameKey(name) {
  if (!nameKeys.has(name)) nameKeys.set(name, blake2b(new TextEncoder().encode(name)));
  return nameKeys.get(name);
}

// Draws of one number, by the key of its element.

const uniform = (key) => Number(splitmix64(key, 0n) >> 11n) * 2 ** -53;

function normal(key) {
  const radius = Number((splitmix64(key, 0n) >> 11n) + 1n) * 2 ** -53, angle = Number(splitmix64(key, 1n) >> 11n) * 2 ** -53;
  return Math.sqrt(-2 * Math.log(radius)) * Math.cos(2 * Math.PI * angle);
}

// A number from 0 below `size`.
function below(key, size) {
  const rejected = 2n ** 64n % size;
  for (let number = 0n; ; number++) {
    const product = splitmix64(key, number) * size;
    if ((product & MASK) >= rejected) return product >> 64n;
  }
}

module.exports = { below, nameKey, normal, splitmix64, uniform };
