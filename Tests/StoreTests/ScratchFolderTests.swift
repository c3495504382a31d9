import Foundation
import Store
import Support
import Testing

@Suite struct ScratchFolderTests {
    @Test
    func `temporary files of a killed process are removed`() throws {
        let busy = try ScratchFolder()
        try Data("a drink".utf8).write(to: URL(fileURLWithPath: busy.file("copy.sqlite")))
        // As after a kill: the lock file exists without a lock.
        let temporary = FileManager.default.temporaryDirectory.path
        let left = temporary + "/waterh-" + UUID().uuidString.prefix(6)
        let foreign = temporary + "/waterh-" + UUID().uuidString.prefix(6)
        for folder in [left, foreign] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        defer { try? FileManager.default.removeItem(atPath: foreign) }
        for file in [left + "/lock", left + "/copy.sqlite", foreign + "/copy.sqlite"] {
            try Data("a drink".utf8).write(to: URL(fileURLWithPath: file))
        }
        let next = try ScratchFolder()
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(
            FileManager.default.fileExists(atPath: busy.file("copy.sqlite"))
                && FileManager.default.fileExists(atPath: next.path))
        #expect(
            FileManager.default.fileExists(atPath: foreign + "/copy.sqlite"),
            "without a lock it may be another program's")
    }
}
