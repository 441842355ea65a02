# Every block of docs/julia.md runs, in the order of the page, in one module and an empty directory.

@testset "docs/julia.md" begin
    # The installed package has no page beside it: then OZARR_DOCS names the directory.
    page = read(joinpath(get(ENV, "OZARR_DOCS", joinpath(@__DIR__, "..", "..", "..", "docs")), "julia.md"), String)
    blocks = [m.captures[1] for m in eachmatch(r"```julia\n(.*?)```"s, page)]
    @test length(blocks) > 5
    sandbox = Module(:Docs)
    cd(mktempdir()) do
        for (i, block) in enumerate(blocks)
            @test try
                Base.include_string(sandbox, String(block), "docs/julia.md, block $i")
                true
            catch e
                showerror(stderr, e)
                false
            end
        end
    end
end
