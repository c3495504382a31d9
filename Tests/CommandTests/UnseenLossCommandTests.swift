import Foundation
import Support
import Testing

/// Whatever the emulator's failure scenario drops, each drink is in the journal or still in the bottle.
@Suite struct UnseenLossCommandTests {
    private func drinks(_ object: [String: Any]) -> Int {
        (object["state"] as? [String: Any])?["drinkCount"] as? Int ?? -1
    }

    private func left(_ pair: Pair) async throws -> Int {
        let result = try await Program("waterh-emulator").run([
            "control", "--control", pair.control, "status", "--json",
        ])
        let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        return object?["records"] as? Int ?? -1
    }

    private func poll(_ pair: Pair, until isEnough: (_ left: Int) -> Bool, sips: Int, limit: Int) async throws {
        for _ in 0..<limit {
            let poll = try await pair.poll()
            let (received, stored) = (
                poll.object["received"] as? Int ?? 0,
                (poll.object["new"] as? Int ?? 0) + (poll.object["duplicates"] as? Int ?? 0)
            )
            let acknowledged = (poll.object["acknowledged"] as? Int ?? 0) + (poll.object["unconfirmed"] as? Int ?? 0)
            #expect(stored <= received && acknowledged <= stored, "\(poll.object)")
            let left = try await left(pair)
            #expect(
                drinks(poll.object) + left >= sips,
                "\(sips) sips, \(drinks(poll.object)) drinks, \(left) left in the bottle")
            if isEnough(left) { return }
        }
    }

    @Test(arguments: [
        ("retail", "split=20,drop=3", 16, 15), ("draft", "drop=20", 3, 40), ("draft", "drop=20", 16, 40),
        ("retail", "frame=16,drop=10", 5, 40), ("retail", "counts,ring=20", 1, 25),
    ])
    func `every drink is kept with unseen losses`(_ profile: String, _ faults: String, _ seed: Int, _ sips: Int)
        async throws
    {
        let pair = try await Pair(["--profile", profile, "--faults", faults, "--seed", "\(seed)"])
        for ml in 0..<sips { try await pair.sip(100 + ml) }
        let kept = faults.contains("ring=20") ? 20 : sips
        try await poll(pair, until: { $0 == 0 }, sips: kept, limit: 3)
    }

    @Test func `records resolved in a poll are reported once`() async throws {
        let pair = try await Pair(["--profile", "retail", "--faults", "split=20,drop=3", "--seed", "3"])
        for ml in 100..<115 { try await pair.sip(ml) }
        let poll = try await Program("waterh-gateway").run(pair.pollArguments)
        let told = poll.lines.filter { $0.contains(/1[01]\d ml/) && !$0.contains("Today") }
        #expect(told.count == 15 && !told.contains { $0.contains("suspect") }, "\(poll.output)")
    }
}
