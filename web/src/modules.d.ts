declare module "virtual:acts" {
  const acts: {
    unseen: string[];
    references: Record<string, Record<string, [number, number]>>;
    states: Record<string, number>;
  };
  export default acts;
}
declare module "virtual:proofs" {
  const proofs: Record<string, string>;
  export default proofs;
}
declare module "virtual:scripts" {
  const scripts: import("./learn/explorer").Script[];
  export default scripts;
}
