#!/usr/bin/env bash
# Builds the image with Debian's buildah where the registries of its bases cannot be reached, for both architectures. In
# the place of the bases stand a small Debian with the Go that is installed here, and an empty folder with a user. So
# every line of the Dockerfile runs, and nothing is shown of the bases themselves. As root, with buildah and debootstrap:
#
#   deploy/buildah.sh v0.1.0
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?want a version, such as v0.1.0}
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot # no overlay, no user namespaces: it works in a container too
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# made makes an image of a folder, with what buildah config is given.
made() {
	local name=$1 folder=$2 container
	shift 2
	container=$(buildah from scratch)
	buildah copy -q "$container" "$folder" / > /dev/null
	buildah config "$@" "$container"
	buildah commit -q --rm "$container" "$name" > /dev/null
}

debootstrap --variant=minbase --include=git,ca-certificates bookworm "$work/go" > "$work/debootstrap.log"
cp -a "$(go env GOROOT)" "$work/go/usr/local/go"
cp /etc/ssl/certs/ca-certificates.crt "$work/go/etc/ssl/certs/" # the build fetches modules as this machine does
made localhost/holdpoint-golang "$work/go" --env GOCACHE=/cache --env PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p "$work/base/etc"
echo 'nonroot:x:65532:65532::/:/sbin/nologin' > "$work/base/etc/passwd"
made localhost/holdpoint-base "$work/base" --user 65532

# buildah 1.28 does not set BUILDPLATFORM, and would look for a compiler of the other architecture. It then looks for the
# second base of that platform as well. The stand-in has nothing in it that belongs to one; real bases want buildx.
for arch in amd64 arm64; do
	buildah bud --format docker --platform "linux/$arch" --build-arg BUILDPLATFORM="linux/$(go env GOARCH)" --volume "$(go env GOCACHE):/cache" \
		--build-arg GOLANG=localhost/holdpoint-golang --build-arg BASE=localhost/holdpoint-base \
		--build-arg VERSION="$version" --tag "localhost/holdpoint:$version-$arch" .
	container=$(buildah from --arch "$arch" "localhost/holdpoint:$version-$arch")
	go version -m "$(buildah mount "$container")/holdpoint" | grep -E 'GOARCH|vcs\.(revision|modified)'
	buildah rm "$container" > /dev/null
done
container=$(buildah from "localhost/holdpoint:$version-$(go env GOARCH)")
buildah run "$container" -- /holdpoint version
buildah rm "$container" > /dev/null
