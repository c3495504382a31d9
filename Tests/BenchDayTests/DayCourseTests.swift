@testable import BenchDay
import BottleProtocol
import Support
import Testing
import VirtualBottle

@Suite("A day with a bottle") struct DayCourseTests {
    @Test(
        "a lawful bottle contradicts nothing, and nearly everything that needs no radio is told",
        arguments: [OfferedProfiles.retail, .both])
    func lawful(_ profile: OfferedProfiles) async throws {
        let day = try await RehearsedDay(BottleIdentity(profile: profile))
        try await day.course.run()
        let findings = await day.findings()
        #expect(await day.contradicted() == [])
        let untold = Set(findings.values.filter { $0.verdict == .cannotTell }.map(\.point))
        #expect(
            untold == [.advertisedServices, .advertisingInterval],
            "\(untold.map { "\($0): \(findings[$0]?.words ?? "")" })")
        // All that was there is gone, and the clock is back.
        let status = try #require(await day.status)
        #expect(status.records == 0 && status.clock.year == 2026)
        await day.close()
    }

    @Test(
        "a habit that contradicts the law is named",
        arguments: [
            ("unasked=50", [.quiet]), ("frame=4", [.oneFrame]), ("shuffle", [.oldestFirst]), ("twice=100", [.onceEach]),
            ("split=20", [.wholeEntries]),
            ("counts", [.acknowledgeWithoutDump]), ("forget=100", [.acknowledgeOne, .acknowledgeAll]),
            ("resend=4", [.acknowledgeAll]), ("step=3600", [.clockRuns]), ("power=1", [.clockRuns]),
            ("lie=100", [.logAnswer]),
            ("ignore=100", [.soon, .snapshotLength, .logAnswer, .bareThree]),
            (
                "unasked=50,frame=4,counts,step=3600,keep-alive",
                [.quiet, .oneFrame, .acknowledgeWithoutDump, .clockRuns, .onlyResponseNotifies]
            ),
        ] as [(String, Set<DayPoint>)])
    func contradicting(_ faults: String, _ expected: Set<DayPoint>) async throws {
        let day = try await RehearsedDay(
            faults: faults, listen: expected.contains(.quiet) ? .seconds(2) : .milliseconds(200))
        try? await day.course.run()
        let found = await day.contradicted()
        #expect(found.isSuperset(of: expected), "found were \(found)")
        for point in expected {
            #expect(await day.findings()[point]?.evidence.isEmpty == false, "\(point) has no evidence")
        }
        await day.close()
    }

    /// Adversaries' findings: the repeat of the answer before stood among the answers to the settings; answers that
    /// came after their step's wait were laid to the next; the founding documents' bottle was judged by what only
    /// bottles on sale do.
    @Test(
        "a habit contradicts what it breaks, and nothing else",
        arguments: [("twice=100", OfferedProfiles.retail, [.onceEach]), ("slow=700", .retail, []), ("", .draft, [])]
            as [(String, OfferedProfiles, Set<DayPoint>)])
    func nothingElse(_ faults: String, _ profile: OfferedProfiles, _ expected: Set<DayPoint>) async throws {
        // Who shares the processors is late besides.
        let day = try await RehearsedDay(BottleIdentity(profile: profile), faults: faults, answer: .seconds(1))
        try await day.course.run()
        let found = await day.contradicted()
        #expect(found == expected, "\(found)")
        await day.close()
    }

    /// An adversary's finding: a firmware that cuts at 20 bytes had no snapshot, and nothing that depends on one was
    /// tried.
    @Test("a bottle that cuts its answers has one habit, and is judged in everything else")
    func cutAnswers() async throws {
        let day = try await RehearsedDay(faults: "split=20")
        try await day.course.run()
        let findings = await day.findings()
        #expect(await day.contradicted() == [.wholeEntries])
        for point in [DayPoint.snapshotLength, .snapshotEntries, .goalTaken, .reminderTaken, .settingsTaken] {
            #expect(findings[point]?.verdict == .confirmed, "\(point): \(findings[point]?.words ?? "")")
        }
        await day.close()
    }

    /// An adversary's finding: the last record that came, a week old, was held against the battery of today.
    @Test("what a record says of the bottle is held against the bottle of that day")
    func sensorsOfAnotherDay() async throws {
        let old = RehearsedDay.records(20).map { Array($0.prefix(11)) + [50, 0] }
        let day = try await RehearsedDay(faults: "shuffle", records: old)
        try await day.course.run()
        #expect(await day.findings()[.sensorBytes]?.verdict == .confirmed)
        // Two dumps may have the same order by chance.
        let found = await day.contradicted()
        #expect(found.contains(.oldestFirst) && found.isSubset(of: [.oldestFirst, .replay]), "\(found)")
        await day.close()
        let idle = try await RehearsedDay(records: old, refused: ["app", "sip100", "sip200", "sip300", "sipNextYear"])
        try? await idle.course.run()
        let idleFound = await idle.findings()[.sensorBytes]
        #expect(idleFound?.verdict == .cannotTell, "\(idleFound?.words ?? "")")
        await idle.close()
    }

    /// An adversary's finding: a bottle that hung up in each dump had no day, and not one of the records that came was
    /// written down.
    @Test("a bottle that hangs up in every dump costs those dumps, and what came is written down")
    func hangsUpInDumps() async throws {
        let day = try await RehearsedDay(faults: "frame=4,hang-up=5")
        try await day.course.run()
        #expect(!day.writtenDown.isEmpty && day.writtenDown.isSubset(of: RehearsedDay.records(20)))
        let said = await day.course.day
        #expect(
            said.omissions.contains { $0.hasPrefix("1-first-connection: it broke off") } && said.profile == .retail,
            "\(said.omissions)")
        let status = await day.status
        #expect(status?.dropped == 0)
        await day.close()
    }

    /// An adversary's finding: a request for the log that the bottle ignored was taken for an empty log, and an
    /// acknowledgement of one record for the end of all.
    @Test("a request that is not answered says nothing of what an acknowledgement drops")
    func unansweredRequest() async throws {
        // Of each connection the first three seconds are deaf, longer than the three times that a question is asked.
        let day = try await RehearsedDay(faults: "early=3000")
        try? await day.course.run()
        let found = await day.findings()
        for point in [DayPoint.acknowledgeWithoutDump, .acknowledgeOne, .acknowledgeAll] {
            #expect(found[point]?.verdict != .contradicted, "\(point): \(found[point]?.words ?? "")")
        }
        // Nor is that bottle's clock sent into the next year with records in its log.
        #expect(await day.status?.clock.year == 2026)
        await day.close()
    }

    @Test("a bottle of the founding documents writes 1A also in the next year")
    func strict() async throws {
        let day = try await RehearsedDay(BottleIdentity(dialect: .strict))
        try await day.course.run()
        #expect(await day.contradicted().contains(.yearByte))
        await day.close()
    }

    @Test("a Vita is judged as a Vita")
    func vita() async throws {
        let day = try await RehearsedDay(BottleIdentity(model: .vita), records: [])
        try await day.course.run()
        #expect(await day.contradicted() == [])
        #expect(await day.findings()[.sensorBytes]?.verdict == .confirmed)
        await day.close()
    }

    @Test(
        "nothing is acknowledged that is not written down, not stored, or not allowed",
        arguments: ["keep", "store", "person"])
    func nothingIsLost(_ missing: String) async throws {
        let day = try await RehearsedDay(
            refused: missing == "person" ? ["app", "acknowledge"] : ["app"], canKeep: missing != "keep",
            canStore: missing != "store")
        try? await day.course.run()
        let status = try #require(await day.status)
        #expect(status.dropped == 0 && status.records >= 20)
        #expect(!(await day.course.day.steps.isEmpty))
        await day.close()
    }

    @Test("the maker's app has its turn before any acknowledgement, and sees the whole log")
    func appComesFirst() async throws {
        let (stream, told) = AsyncStream.makeStream(of: String.self)
        let day = try await RehearsedDay(refused: []) { told.yield($0.word) }
        try await day.course.run()
        told.finish()
        var words: [String] = []
        for await word in stream { words.append(word) }
        let (app, allowed) = (
            try #require(words.firstIndex(of: "app")), try #require(words.firstIndex(of: "acknowledge"))
        )
        #expect(app < allowed)
        let steps = await day.course.day.steps
        let firstAcknowledgement = steps.firstIndex { if case .command(.acknowledge) = $0.kind { true } else { false } }
        let afterApp = steps.firstIndex { $0.kind == .dumpAfterApp }
        #expect(try #require(afterApp) < #require(firstAcknowledgement))
        // The first thing of all is to listen.
        #expect(steps.first?.kind == .listen)
        await day.close()
    }

    @Test("who interrupts it keeps what was seen, and the bottle its log")
    func interrupted() async throws {
        let (stream, told) = AsyncStream.makeStream(of: String.self)
        let day = try await RehearsedDay { told.yield($0.word) }
        let work = Task { try await day.course.run() }
        for await word in stream where word == "sip200" { work.cancel(); break }
        await #expect(throws: CancellationError.self) { try await work.value }
        let record = await day.course.day
        #expect(record.steps.contains { $0.kind == .dump } && record.sips.map(\.ml) == [100])
        #expect(try #require(await day.status).dropped == 0)
        #expect(DayJudge(record).findings.count == DayPoint.allCases.count)
        await day.close()
    }

    @Test("who interrupts it in the next year gets the bottle's clock back")
    func clockComesBack() async throws {
        let (stream, told) = AsyncStream.makeStream(of: String.self)
        let day = try await RehearsedDay { told.yield($0.word) }
        let work = Task { try await day.course.run() }
        for await word in stream where word == "sipNextYear" { work.cancel(); break }
        await #expect(throws: CancellationError.self) { try await work.value }
        let year = await event(within: 5) { await day.status?.clock.year == 2026 ? 2026 : nil }
        #expect(year == 2026)
        await day.close()
    }

    /// An adversary's finding: while the last question waited somebody drank, and the acknowledgement of the next
    /// year's sip took that drink with it.
    @Test("who drinks beside the last chapter loses nothing", arguments: ["nextYear", "sipNextYear"])
    func drunkBesideTheLastChapter(_ word: String) async throws {
        let (stream, told) = AsyncStream.makeStream(of: RehearsedDay.self)
        let day = try await RehearsedDay(refused: ["app"]) { question in
            guard question.word == word else { return }
            for await day in stream {
                await day.drink(333)
                break
            }
        }
        told.yield(day)
        try await day.course.run()
        let status = try #require(await day.status)
        let record = await day.course.day
        let last = try #require(record.logs().last?.log)
        let ml = last.records.map { Int($0[6]) << 8 | Int($0[7]) }
        #expect(ml.contains(333) && status.records == last.records.count, "\(ml), \(status)")
        #expect(
            status.clock.year == 2026 && record.omissions.contains { $0.contains("next year") }, "\(record.omissions)")
        await day.close()
    }

    /// An adversary's finding: a computer 51 days behind set the bottle's clock by its own.
    @Test("of two clocks that are days apart a person says which is right", arguments: [true, false])
    func clocksThatAreDaysApart(isAllowed: Bool) async throws {
        let day = try await RehearsedDay(refused: isAllowed ? ["app"] : ["app", "clock"], daysBehind: 51)
        try await day.course.run()
        let (status, record) = (try #require(await day.status), await day.course.day)
        #expect((status.clock.month == 6) == !isAllowed, "\(status.clock)")
        #expect(
            record.omissions.contains { $0.contains("nobody said which is right") } == !isAllowed, "\(record.omissions)"
        )
        #expect(record.steps.contains { if case .command(.clock) = $0.kind { true } else { false } } == isAllowed)
        await day.close()
    }

    @Test("whose clock is right is asked also where the chapter of commands never came about")
    func clocksWithoutTheChapterOfCommands() async throws {
        let day = try await RehearsedDay(refused: ["app", "clock"], daysBehind: 51, broken: "4-commands")
        try await day.course.run()
        let (status, record) = (try #require(await day.status), await day.course.day)
        #expect(
            status.clock.month == 6 && record.omissions.contains { $0.contains("nobody said which is right") },
            "\(status.clock), \(record.omissions)")
        await day.close()
    }
}
