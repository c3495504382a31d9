import BenchDay
import Bluetooth
import Testing

@Suite("The page of a day") struct DayPageTests {
    @Test("a day on which nothing came about tells nothing, and says so of every point")
    func emptyDay() {
        let day = BenchDayRecord(link: "bluez:hci0", hasRadio: true)
        let findings = DayJudge(day).findings
        #expect(findings.map(\.point) == DayPoint.allCases)
        #expect(findings.allSatisfy { $0.verdict == .cannotTell && !$0.words.isEmpty })
        let page = DayPage(day, findings, place: "day").markdown
        #expect(page.hasPrefix("# A bottle without a name\n"))
        for point in DayPoint.allCases { #expect(page.contains(point.statement)) }
    }

    @Test(
        "advertisements are rare where a second lies between them",
        arguments: [(1500, DayFinding.Verdict.confirmed), (100, .contradicted)])
    func interval(_ milliseconds: Int, _ verdict: DayFinding.Verdict) {
        var day = BenchDayRecord(link: "bluez", hasRadio: true)
        day.advertised = (0..<10).map { .milliseconds(milliseconds * $0) }
        let finding = DayJudge(day).findings.first { $0.point == .advertisingInterval }
        #expect(finding?.verdict == verdict)
    }

    @Test("an address stands on the page by its first half, and a name from the air cannot break a table")
    func blurred() {
        var day = BenchDayRecord(link: "bluez", hasRadio: true)
        (day.name, day.identity) = ("WaterH|Boost", "A4:C1:38:01:02:03")
        let page = DayPage(day, DayJudge(day).findings, place: "day").markdown
        #expect(page.contains("A4:C1:38:…") && !page.contains("01:02:03"))
        #expect(page.contains("It is called WaterH\\|Boost."))
    }
}
