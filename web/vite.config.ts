import { defineConfig } from "vitest/config";
import { gameData } from "./game-data.ts";

export default defineConfig({
  base: "./", // any folder of any server
  plugins: [gameData()],
  build: { target: "es2022", assetsInlineLimit: 0, reportCompressedSize: false },
  worker: { format: "es", plugins: () => [gameData()] },
  server: { fs: { allow: [".."] } },
  preview: { host: "127.0.0.1", port: 8055 },
  test: {
    include: ["tests/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
