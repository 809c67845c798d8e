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
