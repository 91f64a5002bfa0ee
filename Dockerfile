# A static binary on a base without a shell, as a user without rights. Its environment configures it
# (docs/configuration.md):
#
#   docker run -p 7080:7080 -e HOLDPOINT_UPSTREAM=http://host.docker.internal:8000/agent holdpoint:<version>
#
# For a release pin both images by digest: --build-arg BASE=<image>@sha256:<digest>, and GOLANG likewise.
ARG GOLANG=golang:1.26
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM --platform=$BUILDPLATFORM ${GOLANG} AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git: the version that the binary tells is stamped from the tag and the commit. What git tracks must all come, or
# the stamp says "modified"; .dockerignore leaves out only what .gitignore does.
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=auto -ldflags="-s -w" -o /holdpoint ./cmd/holdpoint
# A volume for a file of the store is mounted here. A new volume of Docker's takes over the owner.
RUN mkdir -p /out/var/lib/holdpoint

FROM ${BASE}
COPY --from=build /holdpoint /holdpoint
COPY --from=build --chown=65532:65532 /out/var/lib/holdpoint /var/lib/holdpoint
# The base's user, by number, so that Kubernetes' runAsNonRoot can see that it is not root.
USER 65532:65532
EXPOSE 7080
ENTRYPOINT ["/holdpoint"]
