// Makes one size of one JPEG several times over with sharp, on one thread, and prints what it took as JSON.
//     node contender.mjs FILE SIZE COUNT
import { readFileSync } from 'node:fs';
import sharp from 'sharp';

const [file, size, count] = process.argv.slice(2);
const original = readFileSync(file);
sharp.concurrency(1);
sharp.cache(false);

const make = () =>
  sharp(original)
    .rotate()
    .resize(Number(size), Number(size), { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 80 })
    .toBuffer();

let bytes = (await make()).length;
const began = process.cpuUsage();
for (let at = 0; at < Number(count); at++) {
  bytes = (await make()).length;
}
const { user, system } = process.cpuUsage(began);
const peakKilobytes = process.resourceUsage().maxRSS;
console.log(JSON.stringify({ cpu_ms: (user + system) / 1000 / Number(count), bytes, peak_bytes: peakKilobytes * 1024 }));
