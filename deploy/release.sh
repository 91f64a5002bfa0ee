#!/usr/bin/env bash
# release.sh VERSION, such as v0.1.0: what a release has, into dist/VERSION. `make release` calls it.
# KEY is the PEM file of the key that signs. TARGETS are the systems, of all by default; the images
# need linux/amd64 and linux/arm64. The same commit and the same key give the same bytes.
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
grep -q '^-----BEGIN.*PRIVATE KEY' "${KEY:-/dev/null}" || die "want KEY=<file>, the key that signs: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out <file>"

# The authorities in the image, by a module of Go that is no dependency of the binary.
roots=golang.org/x/crypto/x509roots/fallback roots_version=v0.0.0-20261030153154-30a33513ff6d
roots_sum=h1:5NBkmd8MXirajj6AAEpi4HFVJnVkBNPTL1ggYAKqaws=
got=$(cd / && GOWORK=off go mod download -json "$roots@$roots_version") || die "$roots cannot be had: $got"
value() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" <<<"$got"; }
[[ $(value Sum) == "$roots_sum" ]] || die "$roots is not what it was: $(value Sum)"

out=dist/$version
rm -rf "$out" && mkdir -p "$out"
for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}; do
	export GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0
	name=holdpoint_${version#v}_${GOOS}_$GOARCH
	echo "release: $name"
	# What the binary is made of, with its tests: they compile there too.
	[[ ${VET:-yes} == no ]] || go vet ./cmd/... ./internal/... ./proxy/... ./store/... ./translate/...
	exe=; [[ $GOOS != windows ]] || exe=.exe
	# Without the tag the binary is 16 MB larger (docs/dependencies.md).
	go build -tags=grpcnotrace -trimpath -buildvcs=true -ldflags="-s -w -X main.version=$version" -o "$out/$name$exe" ./cmd/holdpoint
	"$CYCLONEDX" app -json -licenses -std -noserial -notimestamp -main cmd/holdpoint -output "$out/$name.cdx.json" . ||
		die "no bill of materials for $name: $CYCLONEDX failed"
done
unset GOOS GOARCH
printf '%s\n' "$notes" | sed '/./,$!d' > "$out/NOTES.md"

# helm writes the files' times into the package: those of git archive are the commit's.
chart=$(mktemp -d)
trap 'rm -rf "$chart"' EXIT
git archive HEAD deploy/helm/holdpoint | tar -xf - -C "$chart"
"$HELM" package "$chart/deploy/helm/holdpoint" --version "${version#v}" --app-version "${version#v}" -d "$out" > /dev/null || die "$HELM did not package the chart"

go run ./deploy/pack -dir "$out" -version "$version" -commit "$(git rev-parse HEAD)" -time "$(git log -1 --format=%ct)" \
	-go "$(go env GOVERSION)" -roots "$(value Dir)/bundle" -roots-version "$roots_version" -key "$KEY"
echo "release: $out"
