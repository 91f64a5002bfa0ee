#!/usr/bin/env bash
# verify.sh FOLDER KEY.pub: checks all that a release has, with its public key. It asks no network,
# and needs bash, openssl, tar and sha256sum, or shasum of macOS. It ends with 1 at what is wrong.
set -euo pipefail
export LC_ALL=C

die() { echo "verify: REFUSED: $*" >&2; exit 1; }
dir=${1:-} key=${2:-}
[[ -d $dir && -f $key ]] || { echo "usage: verify.sh <folder of the release> <public key>" >&2; exit 2; }
key=$(cd "$(dirname "$key")" && pwd)/$(basename "$key")
cd "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sums() { if command -v sha256sum > /dev/null; then sha256sum -- "$@"; else shasum -a 256 -- "$@"; fi; }
# signed FILE SIGNATURE: the signature, in base64, is the key's.
signed() {
	tr -d '\n' <<<"$2" | openssl base64 -d -A > "$work/signature" && [[ -s $work/signature ]] &&
		openssl dgst -sha256 -verify "$key" -signature "$work/signature" "$1" > /dev/null 2>&1
}
# member NAME: the texts of that name in the JSON that comes. They have no quotes in them.
member() { grep -o "\"$1\":\"[^\"]*\"" | cut -d '"' -f 4 || true; }

# 1. The sums, and that every file is among them.
for file in SHA256SUMS SHA256SUMS.sig; do [[ -f $file && ! -L $file ]] || die "$file is missing"; done
signed SHA256SUMS "$(cat SHA256SUMS.sig)" || die "SHA256SUMS is not signed by this key"
listed=()
while read -r want name; do
	[[ $name != */* && $name != -* && -f $name && ! -L $name ]] || die "$name is missing"
	listed+=("$name")
done < SHA256SUMS
sums "${listed[@]}" > "$work/sums"
while read -r want name; do
	grep -qxF "$want  $name" "$work/sums" || die "$name is not what was released"
done < SHA256SUMS
for name in * .[!.]*; do
	[[ -e $name && $name != SHA256SUMS && $name != SHA256SUMS.sig ]] || continue
	[[ " ${listed[*]} " == *" $name "* ]] || die "$name is not part of the release"
done
echo "verify: ${#listed[@]} files are what was signed"

# 2. The provenance, and that every file is one of its subjects.
provenance=(holdpoint_*.intoto.jsonl)
[[ ${#provenance[@]} == 1 && -f ${provenance[0]} ]] || die "want one provenance, there are: ${provenance[*]}"
type=$(member payloadType < "${provenance[0]}")
member payload < "${provenance[0]}" | openssl base64 -d -A > "$work/statement"
[[ $type == application/vnd.in-toto+json && -s $work/statement ]] || die "${provenance[0]} is no statement"
{ printf 'DSSEv1 %d %s %d ' ${#type} "$type" "$(($(wc -c < "$work/statement")))"; cat "$work/statement"; } > "$work/pae"
signed "$work/pae" "$(member sig < "${provenance[0]}")" || die "${provenance[0]} is not signed by this key"
grep -q '"_type":"https://in-toto.io/Statement/v1"' "$work/statement" && grep -q '"predicateType":"https://slsa.dev/provenance/v1"' "$work/statement" ||
	die "${provenance[0]} is no provenance of SLSA v1"
subject() { grep -qF "{\"name\":\"$1\",\"digest\":{\"sha256\":\"$2\"}}" "$work/statement"; }
while read -r want name; do
	case $name in "${provenance[0]}" | *_signature.tar | *_attestation.tar) continue ;; esac # made after it
	subject "$name" "$want" || die "${provenance[0]} does not say that $name was built"
done < SHA256SUMS
echo "verify: built from commit $(member gitCommit < "$work/statement"), $(grep -o 'refs/tags/[^"]*' "$work/statement")"

# 3. The images and the chart: each blob has its own sum for a name, and what the registry would
# know them by is signed, as cosign verifies it, and a subject of the provenance.
layout() { # of an archive into a folder; prints the digest of what it holds
	mkdir "$2" && tar -xf "$1" -C "$2" || die "$1 is no archive"
	local sum blob entries
	sums "$2"/blobs/sha256/* > "$work/blobs"
	while read -r sum blob; do
		[[ $sum == "${blob##*/}" ]] || die "$1: the blob ${blob##*/} is another"
	done < "$work/blobs"
	for blob in $(grep -aoh '"digest":"sha256:[0-9a-f]*"' "$2"/blobs/sha256/* | cut -d : -f 3 | tr -d '"' | sort -u); do
		[[ -f $2/blobs/sha256/$blob ]] || die "$1: the blob $blob is missing"
	done
	entries=$(member digest < "$2/index.json")
	[[ $entries =~ ^sha256:[0-9a-f]{64}$ && -f $2/blobs/sha256/${entries#sha256:} ]] || die "$1 has not one entry: $entries"
	echo "${entries#sha256:}"
}
for archive in holdpoint_*_image.tar holdpoint_*_chart.tar; do
	[[ -f $archive ]] || die "$archive is missing"
	name=${archive%.tar}
	digest=$(layout "$archive" "$work/$name")
	statement=$(layout "${name}_attestation.tar" "$work/$name.att")
	signature=$(layout "${name}_signature.tar" "$work/$name.sig")
	grep -qF "\"digest\":{\"sha256\":\"$digest\"}" "$work/statement" || die "${provenance[0]} does not say that $name was built"

	manifest=$work/$name.sig/blobs/sha256/$signature
	payload=$work/$name.sig/blobs/sha256/$(grep -o '"layers":\[{[^}]*' "$manifest" | member digest | sed 's/^sha256://')
	[[ -f $payload ]] && grep -qF "\"docker-manifest-digest\":\"sha256:$digest\"" "$payload" || die "${name}_signature.tar is about another image"
	signed "$payload" "$(member dev.cosignproject.cosign/signature < "$manifest")" || die "${name}_signature.tar is not signed by this key"
	grep -qF "\"org.opencontainers.image.ref.name\":\"sha256-$digest.sig\"" "$work/$name.sig/index.json" || die "${name}_signature.tar has another name"

	envelope=$work/$name.att/blobs/sha256/$(grep -o '"layers":\[{[^}]*' "$work/$name.att/blobs/sha256/$statement" | member digest | sed 's/^sha256://')
	cmp -s "$envelope" "${provenance[0]}" || die "${name}_attestation.tar is not the provenance"
	grep -qF "\"org.opencontainers.image.ref.name\":\"sha256-$digest.att\"" "$work/$name.att/index.json" || die "${name}_attestation.tar has another name"
	echo "verify: $name is signed: sha256:$digest"
done
echo "verify: all of it holds"
