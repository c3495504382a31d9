/// What `--version` says, the same in every command: they belong together, and share a store.
public enum ProgramVersion {
    public static let text = "waterh-bench 0.9.0"
}
