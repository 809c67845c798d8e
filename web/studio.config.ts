/** Builds the studio's page into the Python package, which serves it. */

import { defineConfig } from "vite";
import { gameData } from "./game-data.ts";

export default defineConfig({
  base: "./",
  plugins: [gameData()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { input: "studio.html" },
    outDir: "../retro_agents/studio/page",
    emptyOutDir: true,
  },
  worker: { format: "es", plugins: () => [gameData()] },
});
