"""The Dockerfile. Its build stage is the README's set-up on a bare Debian, which scripts/fresh-test runs without an image."""
import re


def stages(root):
    text = re.sub(r"^#.*\n", "", (root / "Dockerfile").read_text(), flags=re.M)
    return [[line for line in stage.splitlines() if line] for stage in re.split(r"^(?=FROM )", text, flags=re.M) if stage.strip()]


def test_the_prebuilt_and_the_built_image_are_described_alike(root):
    prebuilt, _, final = stages(root)
    assert prebuilt[0] == "FROM scratch AS prebuilt" and final[0] == "FROM scratch"
    assert prebuilt[1:4] == ["ARG TARGETARCH", "ARG TARGETVARIANT",
                             "COPY out/image/${TARGETARCH:-amd64}${TARGETVARIANT}/sandstorm-mcp /sandstorm-mcp"]
    assert final[1] == "COPY --from=build /sandstorm-mcp /sandstorm-mcp"
    assert prebuilt[4:] == final[2:]
    assert "USER 65534:65534" in final and 'ENTRYPOINT ["/sandstorm-mcp"]' in final


def test_the_build_stage_gets_every_folder_the_build_reads_and_no_old_results(root):
    build = " ".join(stages(root)[1])
    for part in ("Makefile", "scripts", "vendor", "src"):
        assert f"COPY {part} " in build
    assert "COPY . " not in build
    assert {"build", "vendor/dl", ".git"} <= set((root / ".dockerignore").read_text().split())
