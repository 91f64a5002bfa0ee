#!/usr/bin/env bash
# release.sh VERSION, such as v0.1.0: what a release has, into dist/VERSION. `make release` calls it.
# TARGETS are the systems, of all by default. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "release: $*" >&2; exit 1; }
version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "want a version such as v0.1.0"
[[ -z $(git status --porcelain) ]] || die "the tree has changes that are not committed"
notes=$(awk -v of="## [${version#v}]" 'index($0, "## ") == 1 { on = index($0, of) == 1; next } on' CHANGELOG.md)
[[ -n ${notes//[[:space:]]/} ]] || die "CHANGELOG.md has no section for ${version#v}"
tag=$(git tag --points-at HEAD)
# Go stamps what the commit is tagged, so without the tag the bytes would be others.
[[ $tag == "$version" ]] || die "want the commit tagged $version and nothing else, it is tagged: ${tag:-not at all}"

out=dist/$version
rm -rf "$out" && mkdir -p "$out"
for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}; do
	export GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0
	name=holdpoint_${version#v}_${GOOS}_$GOARCH
	echo "release: $name"
	# What the binary is made of, with its tests: they compile there too.
	[[ ${VET:-yes} == no ]] || go vet ./cmd/... ./internal/... ./proxy/... ./store/... ./translate/...
	exe=; [[ $GOOS != windows ]] || exe=.exe
	go build -tags=grpcnotrace -trimpath -buildvcs=true -ldflags="-s -w -X main.version=$version" -o "$out/$name$exe" ./cmd/holdpoint
	"$CYCLONEDX" app -json -licenses -std -noserial -notimestamp -main cmd/holdpoint -output "$out/$name.cdx.json" . ||
		die "no bill of materials for $name: $CYCLONEDX failed"
done
unset GOOS GOARCH
printf '%s\n' "$notes" | sed '/./,$!d' > "$out/NOTES.md"
(cd "$out" && sha256sum holdpoint_* > SHA256SUMS)
echo "release: $out"
