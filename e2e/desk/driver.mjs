// Plays scenes in one browser, over JSON lines: {seq, file, scene, stage} in, {seq, error?, log} out. It ends with its standard
// input, and the browser with it.
//
//   node driver.mjs <the browser's binary>
import readline from "node:readline";
import { chromium } from "playwright-core";
import { World } from "./world.mjs";

const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
const browser = await chromium.launch({ executablePath: process.argv[2], headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });

async function play({ file, scene, stage }) {
  const world = new World(browser, stage);
  try {
    const found = (await import(`./scenes/${file}.mjs`)).scenes[scene];
    if (!found) throw new Error(`no scene ${scene} in scenes/${file}.mjs`);
    await found(world);
    await world.end();
    return { log: world.log };
  } catch (e) {
    await world.picture().catch(() => {});
    await world.close();
    return { error: String(e?.stack ?? e), log: world.log };
  }
}

say({ ready: true, browser: browser.version() });
const playing = [];
for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  playing.push(play(command).then((answer) => say({ seq: command.seq, ...answer })));
}
await browser.close();
process.exit(0);
