import ArgumentParser
import CommandSupport
import Foundation
import Testing

@Suite struct CommandKitTests {
    struct Sample: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sample", version: "1")
        @Option var fail: Int32?
        @Flag var throwForeign = false

        func run() async throws {
            if let fail {
                throw CommandFailure(ExitStatus(rawValue: fail) ?? .failed, "It failed.", advice: "Try again.")
            }
            if throwForeign { throw CocoaError(.fileNoSuchFile) }
        }
    }

    @Test(
        arguments: [
            ([], 0), (["--help"], 0), (["--version"], 0), (["--nonsense"], 2), (["--fail", "x"], 2), (["extra"], 2),
            (["--throw-foreign"], 1),
            (["--fail", "1"], 1), (["--fail", "3"], 3), (["--fail", "4"], 4), (["--fail", "5"], 5),
            (["--fail", "130"], 130),
        ] as [([String], Int32)])
    func `exit codes are stable`(_ arguments: [String], _ expected: Int32) async {
        #expect(await CommandRunner.run(Sample.self, arguments) == expected)
    }

    @Test
    func `JSON keeps the order of keys and escapes strings`() throws {
        let value: JSONValue = [
            "b": 1, "a": [nil, true, "x\"\\\n\u{1}ü"], "n": JSONValue(nil as Int?), "d": .double(0.1), "w": .double(3),
            "i": .double(.nan),
        ]
        #expect(value.text == #"{"b":1,"a":[null,true,"x\"\\\n\u0001ü"],"n":null,"d":0.1,"w":3,"i":null}"#)
        #expect(try JSONSerialization.jsonObject(with: Data(value.text.utf8)) is [String: Any])
        #expect(value["b"] == 1 && value["z"] == nil)
    }

    @Test
    func `a closed pipe is detected without a signal`() {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let output = TextOutput(descriptor: ends[1])
        output.line("kept")
        output.flush()
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(ends[0], &bytes, 16) == 5 && !output.isClosed)
        close(ends[0])
        output.line("lost")
        output.flush()
        #expect(output.isClosed)
        close(ends[1])
    }

    @Test
    func `default paths follow the XDG variables`() {
        #expect(Paths.store.hasSuffix("/waterh/waterh.sqlite"))
        #expect(Paths.socket("waterh-emulator.sock").hasPrefix("/"))
    }
}
