# docker build .                                        builds from source, as the README does on a bare Debian
# docker build --platform linux/arm64,linux/arm/v7 .    the same for other machines, by cross compilers
# docker build --target prebuilt .                      packs what `make image-files` has laid out below out/image
#   --build-arg CA=ca.pem      compiles that file of this folder in as the CA of the Sandstorm master
#   --secret id=ca,src=FILE    the same from anywhere
# The image holds one file and no shell, no libc, no /etc. The first and the last stage describe the same image.

FROM scratch AS prebuilt
ARG TARGETARCH
ARG TARGETVARIANT
COPY out/image/${TARGETARCH:-amd64}${TARGETVARIANT}/sandstorm-mcp /sandstorm-mcp
LABEL org.opencontainers.image.title="sandstorm-mcp" org.opencontainers.image.licenses="Apache-2.0"
USER 65534:65534
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=6s --start-period=5s CMD ["/sandstorm-mcp", "health"]
ENTRYPOINT ["/sandstorm-mcp"]

FROM --platform=$BUILDPLATFORM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends git make gcc xz-utils
WORKDIR /build
COPY Makefile *.pem ./
COPY scripts scripts/
COPY vendor vendor/
COPY src src/
ARG TARGETARCH
ARG TARGETVARIANT
ARG CA
RUN --mount=type=secret,id=ca \
	if [ -e /run/secrets/ca ]; then CA=/run/secrets/ca; fi && \
	make CA="$CA" ${TARGETARCH:+TARGET="$(scripts/image-files "$TARGETARCH$TARGETVARIANT")"} && \
	mv out/sandstorm-mcp* /sandstorm-mcp

FROM scratch
COPY --from=build /sandstorm-mcp /sandstorm-mcp
LABEL org.opencontainers.image.title="sandstorm-mcp" org.opencontainers.image.licenses="Apache-2.0"
USER 65534:65534
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=6s --start-period=5s CMD ["/sandstorm-mcp", "health"]
ENTRYPOINT ["/sandstorm-mcp"]
