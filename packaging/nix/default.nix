# ozarr for Nix, from this checkout: nix-build packaging/nix
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "ozarr";
  version = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).package.version;
  src = pkgs.lib.cleanSource ../..;
  cargoDeps = pkgs.rustPlatform.importCargoLock { lockFile = ../../Cargo.lock; };
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja pkgs.cargo pkgs.rustc pkgs.rustPlatform.cargoSetupHook ];
  cmakeFlags = [ "-DOZARR_TESTS=OFF" "-DOZARR_MPI=OFF" "-DOZARR_NETCDF=OFF" "-DOZARR_FORTRAN=OFF" "-DOZARR_CARGO_ARGS=--offline" ];
  meta.license = with pkgs.lib.licenses; [ mit asl20 ];
}
